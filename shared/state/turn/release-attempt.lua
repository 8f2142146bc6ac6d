-- Ends an attempt whose write Redis refused, as if it had not begun. Does nothing if another attempt has taken over. A full
-- Redis accepts this script because its first write (DEL) only frees memory, and Redis checks only the first write.
-- KEYS  1 turn   2 absent
-- ARGV  1 fence
-- Reply 1, or 0 if the attempt had ended
redis.call('DEL', KEYS[2])
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] or redis.call('HDEL', KEYS[1], 'running') == 0 then
  return 0
end
if tonumber(redis.call('HGET', KEYS[1], 'attempts') or 0) > 0 then
  redis.call('HINCRBY', KEYS[1], 'attempts', -1)
end
return 1
