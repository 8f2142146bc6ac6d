-- Counts the messages that have waited for too long, without loading their text.
-- KEYS  1 inbound   2 absent, for the keys that are not named: see keys.ts
-- ARGV  1 id before which an entry is overdue   2 prefix of turn keys   3 field of a turn whose user has the answer
--       4 most entries to look at
-- Reply {messages, chats, oldest entry | '', its chat, its traceparent}
-- include: chat, entry
local messages, chats, seen, oldest = 0, 0, {}, { '', '', '' }
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', ARGV[1], 'COUNT', ARGV[4])) do
  if redis.call('HEXISTS', ARGV[2] .. entry[1], ARGV[3]) == 0 then
    local chat = chat_of(field(entry[2], 'chat') or 'unknown')
    messages = messages + 1
    if not seen[chat] then
      seen[chat] = true
      chats = chats + 1
    end
    if messages == 1 then
      oldest = { entry[1], chat, field(entry[2], 'traceparent') or '' }
    end
  end
end
return { messages, chats, unpack(oldest) }
