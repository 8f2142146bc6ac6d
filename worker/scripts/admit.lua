-- Reads new entries as the group and appends each to its lane, in one step: two dispatchers can never admit the
-- messages of one chat in different orders, and no entry is ever read without being in its lane.
-- KEYS  1 inbound   2 lanes
-- ARGV  1 group   2 consumer   3 most entries to read   4 prefix of lane keys   5 prefix of turn keys
--       6 most messages of a lane: one more is marked as refused, unless the operator replayed it
-- Reply {id of the newest entry that the group has read, number of entries read now,
--        {{head, chat, traceparent}, …} of every lane touched, {entry that names no chat, …}}
local function field(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then
      return fields[i + 1]
    end
  end
end

local read = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
if not read then
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(group, 'name') == ARGV[1] then
      return { field(group, 'last-delivered-id'), 0, {}, {} }
    end
  end
end

local touched, order, broken, last = {}, {}, {}, ''
for _, entry in ipairs(read[1][2]) do
  last = entry[1]
  local chat = field(entry[2], 'chat')
  if chat and (chat:match('^%-?%d+$') or chat:match('^%-?%d+%.%d+$')) then
    local length = redis.call('RPUSH', ARGV[4] .. chat, last)
    if length > tonumber(ARGV[6]) and not field(entry[2], 'replayed') then
      redis.call('HSET', ARGV[5] .. last, 'refused', 'lane_full')
    end
    if not touched[chat] then
      touched[chat] = true
      order[#order + 1] = chat
      redis.call('SADD', KEYS[2], chat)
    end
  else
    broken[#broken + 1] = last
  end
end

local heads = {}
for _, chat in ipairs(order) do
  local head = redis.call('LINDEX', ARGV[4] .. chat, 0)
  local found = redis.call('XRANGE', KEYS[1], head, head)
  heads[#heads + 1] = { head, chat, found[1] and field(found[1][2], 'traceparent') or '' }
end
return { last, #read[1][2], heads, broken }
