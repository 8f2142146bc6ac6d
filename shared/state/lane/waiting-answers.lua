-- Counts the finished answers that wait for their delivery, and their chats, among the oldest entries of the stream.
-- KEYS  1 inbound   2 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 prefix of turn keys   2 maximum number of entries to look at
-- Reply {answers, chats}
-- include: chat, entry
local answers, chats, seen = 0, 0, {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2])) do
  if redis.call('HEXISTS', ARGV[1] .. entry[1], 'conclusion') == 1 then
    local chat = chat_of(field(entry[2], 'chat') or 'unknown')
    answers = answers + 1
    chats = chats + (seen[chat] and 0 or 1)
    seen[chat] = true
  end
end
return { answers, chats }
