-- Accepts one update: puts its message on the stream. Adds no entry if the update was accepted before, or if an edit of the
-- message arrived earlier and became a message.
-- KEYS  1 updates:<bot>:<bucket>   2 inbound   3 counts   4 written:<bot>:<chat id>:<message id>
--       5 follows:<bot>:<chat id>:<sender>
-- ARGV  1 seconds to remember the update and the message   2 chat key   3 message (JSON)   4 traceparent
--       5 name of the message's command if that command cancels earlier messages of the chat, or ''
--       6 '1' if the message was forwarded, or ''   7 the update's field in its bucket
--       8 how to recognise messages that continue the message, as fields and values (JSON), or ''
-- Reply {1 if this call added the entry, else 0, entry, number of messages accepted so far}
-- include: counts, inbound, updates
local accepted_entry = redis.call('HGET', KEYS[1], ARGV[7])
if accepted_entry then
  return { 0, accepted_entry, tonumber(redis.call('HGET', KEYS[3], 'accepted') or 0) }
end
local entry_of_edit = (redis.call('GET', KEYS[4]) or ''):match('^edited:(.+)')
if entry_of_edit then
  remember_update(KEYS[1], ARGV[7], entry_of_edit, ARGV[1])
  return { 0, entry_of_edit, tonumber(redis.call('HGET', KEYS[3], 'accepted') or 0) }
end
local accepted = count(KEYS[3], KEYS[2], 'accepted')
local entry = add_message(KEYS[2], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
remember_update(KEYS[1], ARGV[7], entry, ARGV[1])
expect(KEYS[5], ARGV[8], ARGV[1])
redis.call('SET', KEYS[4], entry, 'EX', ARGV[1], 'NX')
return { 1, entry, accepted }
