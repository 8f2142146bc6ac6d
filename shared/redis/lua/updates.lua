-- Stores the entry of an update. The whole bucket of updates then exists for `seconds` from now.
local function remember_update(bucket, field, entry, seconds)
  redis.call('HSET', bucket, field, entry)
  redis.call('EXPIRE', bucket, seconds)
end

-- Stores by which fields to recognise messages that may follow an accepted message, e.g. the rest of its album. `expected`: the
-- names and values of the fields (JSON), or '' for none.
local function expect(follows, expected, seconds)
  if expected ~= '' then
    redis.call('HSET', follows, unpack(cjson.decode(expected)))
    redis.call('EXPIRE', follows, seconds)
  end
end
