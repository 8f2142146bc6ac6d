-- Accepts one update: puts it on the stream unless the same update was accepted before.
-- KEYS  1 seen:<bot>:<update>   2 inbound   3 counts
-- ARGV  1 seconds to remember the update   2 chat key   3 message (JSON)   4 traceparent
--       5 the command with which it cancels earlier messages of its chat, or ''
-- Reply {0 | 1, entry id, messages accepted so far}: 1 when this call added the entry, 0 when an earlier one did.
-- include: counts
local before = redis.call('GET', KEYS[1])
if before then
  return { 0, before, tonumber(redis.call('HGET', KEYS[3], 'accepted') or 0) }
end
local accepted = count(KEYS[3], KEYS[2], 'accepted')
local fields = { 'chat', ARGV[2], 'message', ARGV[3], 'traceparent', ARGV[4] }
if ARGV[5] ~= '' then
  fields[7], fields[8] = 'cancels', ARGV[5]
end
local entry = redis.call('XADD', KEYS[2], '*', unpack(fields))
redis.call('SET', KEYS[1], entry, 'EX', ARGV[1])
return { 1, entry, accepted }
