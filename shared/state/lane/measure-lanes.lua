-- Measures the lanes of a shard. Beyond the most lanes to measure, the longest is only that of a random sample.
-- KEYS  1 lanes   2 alerts   3 absent, for the keys that are not named: see keys.ts
-- ARGV  1 prefix of lane keys   2 most lanes to measure
-- Reply {ms since the epoch, lanes, messages in the longest lane, alerts}
-- include: time
local longest = 0
for _, lane in ipairs(redis.call('SRANDMEMBER', KEYS[1], ARGV[2])) do
  longest = math.max(longest, redis.call('LLEN', ARGV[1] .. lane))
end
return {
  now_ms(),
  redis.call('SCARD', KEYS[1]),
  longest,
  redis.call('XLEN', KEYS[2]),
}
