-- Accepts one update: puts it on the stream unless the same update was accepted before, or the message as it was edited.
-- KEYS  1 updates:<bot>:<bucket>   2 inbound   3 counts   4 written:<bot>:<chat id>:<message id>
--       5 follows:<bot>:<chat id>:<sender>
-- ARGV  1 seconds to remember the update and the message   2 chat key   3 message (JSON)   4 traceparent
--       5 the command with which it cancels earlier messages of its chat, or ''
--       6 '1' if it was forwarded, or ''   7 the update's field in its bucket   8 what may follow it, as fields of
--         its sender (JSON), or ''
-- Reply {0 | 1, entry id, messages accepted so far}: 1 when this call added the entry, 0 when an earlier one did.
-- include: counts, inbound, updates
local before = redis.call('HGET', KEYS[1], ARGV[7])
if before then
  return { 0, before, tonumber(redis.call('HGET', KEYS[3], 'accepted') or 0) }
end
local edited = (redis.call('GET', KEYS[4]) or ''):match('^edited:(.+)')
if edited then
  remember_update(KEYS[1], ARGV[7], edited, ARGV[1])
  return { 0, edited, tonumber(redis.call('HGET', KEYS[3], 'accepted') or 0) }
end
local accepted = count(KEYS[3], KEYS[2], 'accepted')
local entry = add_message(KEYS[2], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
remember_update(KEYS[1], ARGV[7], entry, ARGV[1])
expect(KEYS[5], ARGV[8], ARGV[1])
redis.call('SET', KEYS[4], entry, 'EX', ARGV[1], 'NX')
return { 1, entry, accepted }
