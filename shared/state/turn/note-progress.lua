-- Stores the time of progress (a part of the answer arrived, or a tool ended), if this attempt still owns the turn.
-- KEYS  1 turn
-- ARGV  1 fencing token
-- Reply 1, or 0 if the attempt does not own the turn
-- include: time
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'heardAt', now_ms())
return 1
