-- Puts the message of a dead letter back at the end of its chat's lane, as a new entry, and takes the dead letter away:
-- in one step, so that it is answered once, however often this is asked for.
-- KEYS  1 dead   2 inbound   3 counts
-- ARGV  1 id of the dead letter
-- Reply {'replayed', new entry} | {'gone', ''} | {'chatless', ''}: it names no chat, or holds no message
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
if not found[1] then
  return { 'gone', '' }
end

-- What parseChatKey in keys.ts takes for the key of a chat.
local function is_number(digits)
  return #digits <= 16 and tonumber(digits) <= 9007199254740991
end

local function is_chat(text)
  local id, topic = text:match('^%-?(%d+)%.(%d+)$')
  id = id or text:match('^%-?(%d+)$')
  return id ~= nil and is_number(id) and (topic == nil or is_number(topic))
end

-- Ours stand before the entry's own fields, whose names may be anything.
local own, fields, chat, message = {}, {}, nil, nil
for i = 1, #found[1][2], 2 do
  local name, value = found[1][2][i], found[1][2][i + 1]
  if (name == 'entry' or name == 'record') and not own[name] then
    own[name] = value
  elseif name ~= 'replayed' then
    fields[#fields + 1] = name
    fields[#fields + 1] = value
    if name == 'chat' then
      chat = chat or value
    end
    if name == 'message' then
      message = message or value
    end
  end
end
if not message or not chat or not is_chat(chat) then
  return { 'chatless', '' }
end

-- Counted first: should the counts be damaged, nothing is half done. What an uncounted past left in the stream counts
-- as accepted: see balance.lua.
redis.call('HSETNX', KEYS[3], 'accepted', redis.call('XLEN', KEYS[2]))
redis.call('HINCRBY', KEYS[3], 'accepted', 1)
local entry = redis.call('XADD', KEYS[2], '*', 'replayed', own.entry or ARGV[1], unpack(fields))
redis.call('XDEL', KEYS[1], ARGV[1])
return { 'replayed', entry }
