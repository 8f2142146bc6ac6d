-- Marks one message as cancelled, as a later /stop does. The message's own turn then ends it and notifies its user.
-- KEYS  1 inbound   2 turn
-- ARGV  1 entry   2 name of the canceller
-- Reply 'cancelled' | 'repeated': it was cancelled before | 'gone': it has its outcome | 'answered': its reply is stored and
--       on its way | 'command': it cancels others itself | 'merged': it was merged into another message and ends with that one
-- include: entry
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
if not found[1] then
  return 'gone'
end
if field(found[1][2], 'cancels') then
  return 'command'
end
if redis.call('HEXISTS', KEYS[2], 'conclusion') == 1 then
  return 'answered'
end
if redis.call('HEXISTS', KEYS[2], 'mergedInto') == 1 then
  return 'merged'
end
return redis.call('HSETNX', KEYS[2], 'cancelled', ARGV[2]) == 1 and 'cancelled' or 'repeated'
