-- Ends what take-notices.lua began: removes what was sent, and records the state of delivery.
-- KEYS  1 notices   2 alerting   3 lock   4 owed
-- ARGV  1 owner   2 what was owed and is told, '' for nothing   3 its text, as it was told: a later one stays
--       4 number of ids   5 number of texts that are owed   then the ids of what was sent   then what is owed with its
--       text, '' to remove one   then fields of alerting with their values, '' to remove one
-- Reply 1
local function put(key, field, value)
  if value == '' then
    redis.call('HDEL', key, field)
  else
    redis.call('HSET', key, field, value)
  end
end
local ids, owed = 5 + tonumber(ARGV[4]), 2 * tonumber(ARGV[5])
for i = 6, ids do
  redis.call('XDEL', KEYS[1], ARGV[i])
end
if ARGV[2] ~= '' and redis.call('HGET', KEYS[4], ARGV[2]) == ARGV[3] then
  redis.call('HDEL', KEYS[4], ARGV[2])
end
for i = ids + 1, ids + owed, 2 do
  put(KEYS[4], ARGV[i], ARGV[i + 1])
end
if owed > 0 then
  -- A week: as long as a notice is kept that no channel takes.
  redis.call('EXPIRE', KEYS[4], 604800)
end
for i = ids + owed + 1, #ARGV, 2 do
  put(KEYS[2], ARGV[i], ARGV[i + 1])
end
if redis.call('GET', KEYS[3]) == ARGV[1] then
  redis.call('DEL', KEYS[3])
end
return 1
