-- Counts the messages that have waited for too long, without loading their text.
-- KEYS  1 inbound   2 absent, for the keys that are not named: see keys.ts   3 paused
-- ARGV  1 id before which an entry is overdue   2 prefix of turn keys   3 field of a turn whose user has the answer
--       4 most entries to look at
-- Reply {messages, chats, oldest entry | '', its chat, its traceparent, messages of paused chats, their chats}
-- include: chat, entry
local paused = {}
for _, pause in ipairs(redis.call('HKEYS', KEYS[3])) do
  paused[pause] = true
end

local function tally()
  return { messages = 0, chats = 0, seen = {} }
end

local late, resting, oldest = tally(), tally(), { '', '', '' }
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', ARGV[1], 'COUNT', ARGV[4])) do
  if redis.call('HEXISTS', ARGV[2] .. entry[1], ARGV[3]) == 0 then
    local chat = chat_of(field(entry[2], 'chat') or 'unknown')
    local to = (paused['*'] or paused[chat]) and resting or late
    to.messages = to.messages + 1
    if not to.seen[chat] then
      to.seen[chat] = true
      to.chats = to.chats + 1
    end
    if to == late and late.messages == 1 then
      oldest = { entry[1], chat, field(entry[2], 'traceparent') or '' }
    end
  end
end
return { late.messages, late.chats, oldest[1], oldest[2], oldest[3], resting.messages, resting.chats }
