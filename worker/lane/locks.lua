-- Shortens what BullMQ lets last for seconds where it would last for longer: the clock has stepped back since. Who lives
-- renews its lock long before.
-- KEYS  1 active   2 mark of the last look for locks that are gone   3 absent, for the keys that are not named: see keys.ts
-- ARGV  1 prefix of job keys   2 ms that anything may last   3 most jobs
-- Reply how many there were
local shortened = 0
local function shorten(key)
  if redis.call('PTTL', key) > tonumber(ARGV[2]) then
    redis.call('PEXPIRE', key, ARGV[2])
    shortened = shortened + 1
  end
end
shorten(KEYS[2])
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, ARGV[3] - 1)) do
  shorten(ARGV[1] .. id .. ':lock')
end
return shortened
