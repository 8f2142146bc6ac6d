-- Notes that something of an answer arrived, or a tool ended, as long as this attempt owns the turn.
-- KEYS  1 turn
-- ARGV  1 fence
-- Reply 1 if it does
-- include: time
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'heardAt', now_ms())
return 1
