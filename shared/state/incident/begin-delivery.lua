-- Takes the lock to deliver alerts. Only the lock's owner delivers, because two processes would send each alert twice.
-- KEYS  1 alerting   2 lock
-- ARGV  1 owner   2 ms that the lock lasts: longer than a send
-- Reply {} while the lock has an owner, else {ms since the epoch, alerting's fields}
-- include: time
-- If the clock stepped back since another process took the lock, the lock would last too long. Shorten it.
if redis.call('PTTL', KEYS[2]) > tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {}
end
return { now_ms(), redis.call('HGETALL', KEYS[1]) }
