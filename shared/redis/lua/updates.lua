-- Stores the entry of an update. The life of the whole bucket starts anew.
local function remember_update(bucket, field, entry, seconds)
  redis.call('HSET', bucket, field, entry)
  redis.call('EXPIRE', bucket, seconds)
end

-- Stores the marks of messages that may follow an accepted message: see `Expected` in inbox.ts.
local function expect(follows, expected, seconds)
  if expected ~= '' then
    redis.call('HSET', follows, unpack(cjson.decode(expected)))
    redis.call('EXPIRE', follows, seconds)
  end
end
