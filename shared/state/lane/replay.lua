-- Puts the messages of dead letters back on the stream, as new entries, and removes the letters. Both happen in one step,
-- so a repeated command replays nothing twice, and messages that were merged with each other stay together.
-- If a letter holds a finished answer, the turn of the new entry gets that answer, and the next attempt delivers the rest of
-- it without a model call.
-- KEYS  1 dead   2 inbound   3 counts   4 absent: never exists; defers the script while the cluster moves the shard
-- ARGV  1 prefix of turn keys   2 '1' to change nothing while a message merged into a letter's message has no outcome
--       then the ids of the letters, oldest first
-- Reply {'replayed', new entry of the first letter} | {'gone', ''}: there is no such letter
--       {'chatless', ''}: no letter could be replayed, and one names no chat or has no message
--       {'unfinished', ''}: a merged message has no outcome yet; nothing changed
-- include: chat, counts

-- The letter's own fields, in order. They precede the fields of its entry, which may have the same names.
local LETTER_FIELDS = { 'entry', 'record', 'answer' }
local function letter_of(id)
  local found = redis.call('XRANGE', KEYS[1], id, id)
  if not found[1] then
    return nil
  end
  local letter = { id = id, letter_fields = {}, fields = {} }
  for i = 1, #found[1][2], 2 do
    local name, value = found[1][2][i], found[1][2][i + 1]
    if name == LETTER_FIELDS[(i + 1) / 2] then
      letter.letter_fields[name] = value
    elseif name ~= 'replayed' then
      letter.fields[#letter.fields + 1] = name
      letter.fields[#letter.fields + 1] = value
      if name == 'chat' or name == 'message' then
        letter[name] = letter[name] or value
      end
    end
  end
  return letter
end

local function is_unfinished(entry)
  local pieces = entry and redis.call('HGET', ARGV[1] .. entry, 'pieces')
  for _, piece in ipairs(pieces and cjson.decode(pieces) or {}) do
    if #redis.call('XRANGE', KEYS[2], piece, piece) > 0 then
      return true
    end
  end
  return false
end

local letters, result = {}, 'gone'
for i = 3, #ARGV do
  local letter = letter_of(ARGV[i])
  if letter and letter.message and letter.chat and is_lane(letter.chat) then
    letters[#letters + 1] = letter
  elseif letter then
    result = 'chatless'
  end
  if letter and ARGV[2] == '1' and is_unfinished(letter.letter_fields.entry) then
    return { 'unfinished', '' }
  end
end
local first = ''
for _, letter in ipairs(letters) do
  count(KEYS[3], KEYS[2], 'accepted')
  local entry = redis.call('XADD', KEYS[2], '*', 'replayed', letter.letter_fields.entry or letter.id, unpack(letter.fields))
  if letter.letter_fields.answer then
    redis.call('HSET', ARGV[1] .. entry, unpack(cjson.decode(letter.letter_fields.answer)))
  end
  redis.call('XDEL', KEYS[1], letter.id)
  first = first ~= '' and first or entry
end
return { first == '' and result or 'replayed', first }
