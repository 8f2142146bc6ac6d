-- Accepts one update: puts it on the stream unless the same update was accepted before.
-- KEYS  1 seen:<bot>:<update>   2 inbound   3 counts
-- ARGV  1 seconds to remember the update   2 chat key   3 message (JSON)   4 traceparent
-- Reply {0 | 1, entry id}: 1 when this call added the entry, 0 when an earlier one did.
local before = redis.call('GET', KEYS[1])
if before then
  return { 0, before }
end
-- What an uncounted past left in the stream counts as accepted: see balance.lua.
redis.call('HSETNX', KEYS[3], 'accepted', redis.call('XLEN', KEYS[2]))
redis.call('HINCRBY', KEYS[3], 'accepted', 1)
local entry = redis.call('XADD', KEYS[2], '*', 'chat', ARGV[2], 'message', ARGV[3], 'traceparent', ARGV[4])
redis.call('SET', KEYS[1], entry, 'EX', ARGV[1])
return { 1, entry }
