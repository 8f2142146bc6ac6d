-- Reads new entries as the group and appends each to its lane, in one step; one of a lane that this version does not know is
-- left on the stream, for a later version. So two dispatchers never admit the messages
-- of one chat in different orders, and no entry is read without being in its lane. A call that is re-sent because its
-- reply was lost gets the same reply again.
-- KEYS  1 inbound   2 lanes   3 absent, for the keys that are not named: see keys.ts   4 last reply to this caller
-- ARGV  1 group   2 consumer   3 most entries to read   4 prefix of lane keys   5 prefix of turn keys
--       6 most messages of a lane: one more is marked as refused, unless the operator replayed it, it cancels others, or
--         it is a reminder, of which a chat has only so many
--       7 how many more may be forwards, of which people send many at once that are answered as one
--       8 name of this call, which no other call of this caller has
-- Reply {what was read, ms since the epoch}; what was read is
--       {id of the newest entry that the group has read, number of entries read now,
--        {{head, chat, traceparent}, …} of every lane touched, {entry that names no chat, …},
--        {head that was cancelled, …}}
-- include: chat, entry, time
local KEEP_SECONDS = 60
local now = now_ms()

local before = redis.call('GET', KEYS[4])
if before then
  local call, reply = unpack(cmsgpack.unpack(before))
  if call == ARGV[8] then
    return { reply, now }
  end
end

-- Marks the lane's messages before its last entry that have no conclusion yet. Another cancelling command among them is
-- carried out all the same, and what went into another message ends as that one does.
local function cancel(lane, last, command)
  for _, entry in ipairs(redis.call('LRANGE', lane, 0, -2)) do
    local turn = ARGV[5] .. entry
    local found = redis.call('XRANGE', KEYS[1], entry, entry)
    local decided = redis.call('HMGET', turn, 'conclusion', 'mergedInto')
    if found[1] and not field(found[1][2], 'cancels') and not decided[1] and not decided[2] then
      redis.call('HSETNX', turn, 'cancelled', command)
      redis.call('HINCRBY', ARGV[5] .. last, 'cancelledOthers', 1)
    end
  end
end

local read = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
if not read then
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(group, 'name') == ARGV[1] then
      return { { field(group, 'last-delivered-id'), 0, {}, {}, {} }, now }
    end
  end
end

local touched, order, broken, last = {}, {}, {}, ''
for _, entry in ipairs(read[1][2]) do
  last = entry[1]
  local chat = field(entry[2], 'chat')
  if chat and is_lane(chat) then
    local length = redis.call('RPUSH', ARGV[4] .. chat, last)
    local cancels, replayed = field(entry[2], 'cancels'), field(entry[2], 'replayed')
    if cancels and not replayed then
      cancel(ARGV[4] .. chat, last, cancels)
    elseif
      length > ARGV[6] + (field(entry[2], 'forwarded') and ARGV[7] or 0)
      and not replayed
      and not field(entry[2], 'reminder')
    then
      redis.call('HSET', ARGV[5] .. last, 'refused', 'lane_full')
    end
    if not touched[chat] then
      touched[chat] = true
      order[#order + 1] = chat
      redis.call('SADD', KEYS[2], chat)
    end
  elseif not chat then
    broken[#broken + 1] = last
  end
end

local heads, cancelled = {}, {}
for _, chat in ipairs(order) do
  local head = redis.call('LINDEX', ARGV[4] .. chat, 0)
  heads[#heads + 1] = { head, chat, traceparent_of(KEYS[1], head) }
  if redis.call('HEXISTS', ARGV[5] .. head, 'cancelled') == 1 then
    cancelled[#cancelled + 1] = head
  end
end
local reply = { last, #read[1][2], heads, broken, cancelled }
redis.call('SET', KEYS[4], cmsgpack.pack({ ARGV[8], reply }), 'EX', KEEP_SECONDS)
return { reply, now }
