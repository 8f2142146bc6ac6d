-- Lets one process deliver alerts at a time: two would send each message twice.
-- KEYS  1 alerting   2 lock
-- ARGV  1 owner   2 ms that the lock lasts: longer than a send
-- Reply {} when another process delivers, else {now in ms, alerting's fields}
-- include: time
-- A lock from before the clock stepped back would last for as long as the step.
if redis.call('PTTL', KEYS[2]) > tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {}
end
return { now_ms(), redis.call('HGETALL', KEYS[1]) }
