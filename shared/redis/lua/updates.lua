-- Remembers the entry of an update for so long, and the others of its bucket with it.
local function remember_update(bucket, field, entry, seconds)
  redis.call('HSET', bucket, field, entry)
  redis.call('EXPIRE', bucket, seconds)
end

-- Remembers what may follow an accepted message of a group without being addressed: see inbox.ts.
local function expect(follows, expected, seconds)
  if expected ~= '' then
    redis.call('HSET', follows, unpack(cjson.decode(expected)))
    redis.call('EXPIRE', follows, seconds)
  end
end
