-- Notes which blob store the data refers to, unless one is noted already.
-- KEYS  1 blob store
-- ARGV  1 id of the store at hand
-- Reply {id of the noted store, seconds since it was noted}
local now = tonumber(redis.call('TIME')[1])
if redis.call('HSETNX', KEYS[1], 'id', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'noted', now)
end
local noted = tonumber(redis.call('HGET', KEYS[1], 'noted')) or now
return { redis.call('HGET', KEYS[1], 'id'), now - noted }
