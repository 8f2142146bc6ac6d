-- Stores the id of the blob store that the data in Redis refers to, unless an id is stored already.
-- KEYS  1 blob store
-- ARGV  1 id of the caller's store
-- Reply {stored id, seconds since it was stored}
local now = tonumber(redis.call('TIME')[1])
if redis.call('HSETNX', KEYS[1], 'id', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'noted', now)
end
local since = tonumber(redis.call('HGET', KEYS[1], 'noted')) or now
return { redis.call('HGET', KEYS[1], 'id'), now - since }
