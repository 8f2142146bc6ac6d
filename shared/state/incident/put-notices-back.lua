-- Ends what take-notices.lua began: removes what was delivered, and records the state of delivery.
-- KEYS  1 notices   2 alerting   3 lock
-- ARGV  1 owner   2 number of ids   then the ids of what was delivered   then fields of alerting with their values, '' to
--       remove one
-- Reply 1
local ids = 2 + tonumber(ARGV[2])
for i = 3, ids do
  redis.call('XDEL', KEYS[1], ARGV[i])
end
for i = ids + 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[2], ARGV[i])
  else
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
if redis.call('GET', KEYS[3]) == ARGV[1] then
  redis.call('DEL', KEYS[3])
end
return 1
