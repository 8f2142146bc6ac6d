-- Puts an operator's /stop at the end of a lane in which something waits, once: a /stop that is the lane's last entry is
-- not repeated.
-- KEYS  1 inbound   2 counts   3 lane   4 absent, for the key that is not named: see keys.ts
-- ARGV  1 lane   2 message (JSON)   3 traceparent
-- Reply {'cancelled' | 'repeated', entry} | {'idle', ''}
-- include: counts, inbound, entry
local last = redis.call('LINDEX', KEYS[3], -1)
if not last then
  return { 'idle', '' }
end
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if newest and field(newest[2], 'chat') == ARGV[1] then
  last = newest[1]
end
local found = redis.call('XRANGE', KEYS[1], last, last)
if found[1] and field(found[1][2], 'cancels') == 'stop' then
  return { 'repeated', last }
end
count(KEYS[2], KEYS[1], 'accepted')
return { 'cancelled', add_message(KEYS[1], ARGV[1], ARGV[2], ARGV[3], 'stop', '') }
