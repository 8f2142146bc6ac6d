-- Stores the delivery states of incidents and the state of alerting, and releases the lock of begin-delivery.lua. Does
-- nothing if another process has taken the lock, because that process has newer states. Skips incidents that have ended.
-- KEYS  1 incidents   2 alerting   3 lock
-- ARGV  1 owner   2 number of incidents   then the name and the delivery state (JSON) of each incident
--       then fields of alerting with their values, '' to remove one
-- Reply 1, or 0 if another process has the lock
local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[1] then
  return 0
end
local last = 2 + 2 * tonumber(ARGV[2])
for i = 3, last, 2 do
  if redis.call('HEXISTS', KEYS[1], 'incident:' .. ARGV[i]) == 1 then
    redis.call('HSET', KEYS[1], 'delivered:' .. ARGV[i], ARGV[i + 1])
  end
end
for i = last + 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[2], ARGV[i])
  else
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
redis.call('DEL', KEYS[3])
return 1
