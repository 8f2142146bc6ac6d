-- Takes the waiting notices, so that only one process sends them: two would send each twice.
-- KEYS  1 notices   2 alerting   3 lock
-- ARGV  1 owner   2 ms that the lock lasts: longer than a send   3 most notices
-- Reply {} when nothing waits or another process sends, else {now in ms, alerting's fields, {notice, …}}
-- include: time
-- Taken before the clock stepped back: it would last for as long as the step.
if redis.call('PTTL', KEYS[3]) > tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
end
if redis.call('XLEN', KEYS[1]) == 0 or not redis.call('SET', KEYS[3], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {}
end
return {
  now_ms(),
  redis.call('HGETALL', KEYS[2]),
  redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[3]),
}
