-- Records the result of a probe. Enough answered probes end the storm; after a failed one, the next waits longer.
-- KEYS  1 storm   2 alerts
-- ARGV  1 entry   2 '1' when it was answered   3 answered probes that end a storm   4 ms of calm after that
--       5 ms to the next probe after a first failure   6 the most of that   7 alert (JSON) that says that it is over
-- Reply 1 when the storm is over now, else 0
-- include: time
local storm = redis.call('HMGET', KEYS[1], 'probe', 'passed', 'failed')
if storm[1] ~= ARGV[1] then
  return 0
end
local now = now_ms()
redis.call('HDEL', KEYS[1], 'probe', 'probeUntilMs')
if ARGV[2] ~= '1' then
  local failed = tonumber(storm[3] or 0)
  local rest = math.min(tonumber(ARGV[5]) * 2 ^ failed, tonumber(ARGV[6]))
  redis.call('HSET', KEYS[1], 'failed', failed + 1, 'passed', 0, 'restUntilMs', now + math.floor(rest))
  return 0
end
local passed = tonumber(storm[2] or 0) + 1
if passed < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], 'passed', passed, 'failed', 0)
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'calmUntilMs', now + tonumber(ARGV[4]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('XADD', KEYS[2], '*', 'alert', ARGV[7])
return 1
