-- Ends what take-notices.lua began: removes what was sent, and records the state of delivery.
-- KEYS  1 notices   2 alerting   3 lock   4 unshown ends
-- ARGV  1 owner   2 the message that is to say the end of its incident, '' for none   3 the text, '' once it says it
--       4 number of ids   then the ids of what was sent   then fields of alerting with their values, '' to remove one
-- Reply 1
local function put(key, field, value)
  if value == '' then
    redis.call('HDEL', key, field)
  else
    redis.call('HSET', key, field, value)
  end
end
local last = 4 + tonumber(ARGV[4])
for i = 5, last do
  redis.call('XDEL', KEYS[1], ARGV[i])
end
for i = last + 1, #ARGV, 2 do
  put(KEYS[2], ARGV[i], ARGV[i + 1])
end
if ARGV[2] ~= '' then
  put(KEYS[4], ARGV[2], ARGV[3])
  -- A week: as long as a notice is kept that no channel takes.
  redis.call('EXPIRE', KEYS[4], 604800)
end
if redis.call('GET', KEYS[3]) == ARGV[1] then
  redis.call('DEL', KEYS[3])
end
return 1
