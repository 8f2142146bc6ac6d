-- Puts an operator's /stop on the stream for a lane that is not empty, unless the lane's newest entry is a /stop.
-- If the reply 'cancelled' is lost and the request is sent again, it gets the same reply, and no second /stop is added.
-- KEYS  1 inbound   2 counts   3 lane   4 absent: a key that never exists   5 entry of the /stop that this request added
-- ARGV  1 lane   2 message (JSON)   3 traceparent   4 seconds to remember the request
-- Reply {'cancelled' | 'repeated', entry} | {'idle', ''}
-- include: counts, inbound, entry
local stop = redis.call('GET', KEYS[5])
if stop then
  return { 'cancelled', stop }
end
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
local entry = add_message(KEYS[1], ARGV[1], ARGV[2], ARGV[3], 'stop', '')
redis.call('SET', KEYS[5], entry, 'EX', ARGV[4])
return { 'cancelled', entry }
