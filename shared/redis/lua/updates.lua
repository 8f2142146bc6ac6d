-- How long an update also has a key of its own, for a process of an earlier version that takes over: Telegram delivers
-- again what was not confirmed just before.
local EARLIER_SECONDS = 3600

-- The entry of an update that was accepted before; false when it was not. `earlier` is its key of an earlier version.
local function entry_of_update(bucket, field, earlier)
  return redis.call('HGET', bucket, field) or redis.call('GET', earlier)
end

-- Remembers the entry of an update for so long, and the others of its bucket with it.
local function remember_update(bucket, field, earlier, entry, seconds)
  redis.call('HSET', bucket, field, entry)
  redis.call('EXPIRE', bucket, seconds)
  redis.call('SET', earlier, entry, 'EX', EARLIER_SECONDS)
end
