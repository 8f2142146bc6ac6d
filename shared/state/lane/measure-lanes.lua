-- Measures the lanes of a shard. If there are more than ARGV 2 lanes, looks for the longest one in a random sample.
-- KEYS  1 lanes   2 alerts   3 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 prefix of lane keys   2 maximum number of lanes to measure
-- Reply {ms since the epoch, number of lanes, number of messages in the longest lane, number of queued alerts}
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
