-- Puts the message of a dead letter back at the end of its chat's lane, as a new entry, and removes the dead letter:
-- in one step, so that it is answered once even if the command is repeated.
-- A letter that holds an answer gives it to the new entry's turn, so that it is delivered, from where that had come to,
-- and nothing is asked.
-- KEYS  1 dead   2 inbound   3 counts   4 absent, for the key that is not named: see keys.ts
-- ARGV  1 id of the dead letter   2 prefix of turn keys
-- Reply {'replayed', new entry} | {'gone', ''} | {'chatless', ''}: it names no chat, or holds no message
-- include: chat, counts
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
if not found[1] then
  return { 'gone', '' }
end

-- Ours stand before the entry's own fields, whose names may be anything.
local OURS = { 'entry', 'record', 'answer' }
local own, fields, chat, message = {}, {}, nil, nil
for i = 1, #found[1][2], 2 do
  local name, value = found[1][2][i], found[1][2][i + 1]
  if name == OURS[(i + 1) / 2] then
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
if not message or not chat or not is_lane(chat) then
  return { 'chatless', '' }
end

count(KEYS[3], KEYS[2], 'accepted')
local entry = redis.call('XADD', KEYS[2], '*', 'replayed', own.entry or ARGV[1], unpack(fields))
if own.answer then
  redis.call('HSET', ARGV[2] .. entry, unpack(cjson.decode(own.answer)))
end
redis.call('XDEL', KEYS[1], ARGV[1])
return { 'replayed', entry }
