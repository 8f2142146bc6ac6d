-- Ends an attempt whose write Redis refused, and takes the attempt off the count. Does nothing if another attempt has taken
-- over. A full Redis accepts this script, because Redis checks only the first write of a script and always allows DEL.
-- KEYS  1 turn   2 absent: a key that never exists
-- ARGV  1 fencing token
-- Reply 1, or 0 if the attempt had ended or another one has taken over
redis.call('DEL', KEYS[2])
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] or redis.call('HDEL', KEYS[1], 'running') == 0 then
  return 0
end
if tonumber(redis.call('HGET', KEYS[1], 'attempts') or 0) > 0 then
  redis.call('HINCRBY', KEYS[1], 'attempts', -1)
end
return 1
