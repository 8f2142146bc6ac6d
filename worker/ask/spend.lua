-- Adds to what was spent in a day, unless that would exceed the limit. Once per operation: a reply can be lost, and
-- the command is then repeated.
-- KEYS  1 spent   2 spent, for one operation
-- ARGV  1 tokens, may be negative   2 limit, or -1 for none   3 seconds to keep the key   4 seconds to remember the
--       operation
-- Reply 1 when it was added, 0 when it would be too much
local done = redis.call('GET', KEYS[2])
if done then
  return tonumber(done)
end
local limit = tonumber(ARGV[2])
local spent = tonumber(redis.call('GET', KEYS[1]) or 0)
local fits = (limit < 0 or spent + tonumber(ARGV[1]) <= limit) and 1 or 0
if fits == 1 then
  redis.call('INCRBY', KEYS[1], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
redis.call('SET', KEYS[2], fits, 'EX', ARGV[4])
return fits
