-- Adds to what was spent in a day, unless that would exceed the limit.
-- KEYS  1 spent
-- ARGV  1 tokens, may be negative   2 limit, or -1 for none   3 seconds to keep the key
-- Reply 1 when it was added, 0 when it would be too much
local limit = tonumber(ARGV[2])
local spent = tonumber(redis.call('GET', KEYS[1]) or 0)
if limit >= 0 and spent + tonumber(ARGV[1]) > limit then
  return 0
end
redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
