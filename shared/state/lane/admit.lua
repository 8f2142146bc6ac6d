-- Reads new entries as the consumer group and appends each to its lane, in one step: two dispatchers cannot admit the
-- messages of one chat in different orders, and a crash cannot lose an entry between the stream and its lane.
-- An entry of a lane that this version does not know stays on the stream, for a later version.
-- A call that read entries gets the same reply if it is sent again within a minute because its reply was lost.
-- A full lane refuses messages: the script settles them at once and increments the chat's count of refusals, which the chat's
-- next reply reports. A refused summons enters its lane with the field `refused`, because each summons gets its own reply.
-- KEYS  1 inbound   2 lanes   3 absent: a key that never exists; it defers the script while the cluster moves the shard
--       4 last reply to this caller   5 outcomes   6 counts
-- ARGV  1 group   2 consumer   3 maximum number of entries to read   4 prefix of lane keys   5 prefix of turn keys
--       6 maximum number of messages in a lane; replayed and cancelling messages and reminders enter a full lane, too
--       7 how many forwarded messages a lane accepts beyond that: people forward many at once, and one answer serves them all
--       8 name of this call, which no other call of this caller has   9 prefix of chat keys
-- Reply {result, ms since the epoch}; the result is
--       {id of the newest entry that the group has read, number of entries read now,
--        {{head, lane, traceparent, person | ''}, …} of every lane touched, {entry that names no chat, …},
--        {cancelled head, …}, {{entry, chat, traceparent}, …} of every message that was refused and settled}
-- include: chat, counts, entry, time
local KEEP_SECONDS = 60
local now = now_ms()

local last_reply = redis.call('GET', KEYS[4])
if last_reply then
  local call, reply = unpack(cmsgpack.unpack(last_reply))
  if call == ARGV[8] then
    return { reply, now }
  end
end

-- Marks the messages before the lane's last entry as cancelled, newest first. Skips concluded messages, and messages that
-- were merged into another one and end with that one. Stops at an earlier cancelling command, because the messages before
-- that command are marked already. While that command waits, the new command also reports that command's cancellations.
local function cancel(lane, last, command)
  local length = redis.call('LLEN', lane)
  for at = 2, length do
    local entry = redis.call('LINDEX', lane, -at)
    local turn = ARGV[5] .. entry
    local found = redis.call('XRANGE', KEYS[1], entry, entry)
    local fields = redis.call('HMGET', turn, 'conclusion', 'mergedInto', 'cancelledOthers')
    if found[1] and field(found[1][2], 'cancels') and not field(found[1][2], 'replayed') then
      if at < length and fields[3] then
        redis.call('HSET', ARGV[5] .. last, 'cancelledOthers', fields[3])
      end
      return
    end
    if found[1] and not field(found[1][2], 'cancels') and not fields[1] and not fields[2] then
      redis.call('HSETNX', turn, 'cancelled', command)
      redis.call('HINCRBY', ARGV[5] .. last, 'cancelledOthers', 1)
    end
  end
end

local function is_full(lane, fields)
  local most = ARGV[6] + (field(fields, 'forwarded') and ARGV[7] or 0)
  local is_exempt = field(fields, 'cancels') or field(fields, 'replayed') or field(fields, 'reminder')
  return not is_exempt and redis.call('LLEN', lane) >= most
end

local function sent_ms(fields)
  local is_json, message = pcall(cjson.decode, field(fields, 'message'))
  return is_json and type(message) == 'table' and tonumber(message.sentAtMs) or nil
end

-- Settles a message as refused and increments its chat's count of refusals. If the group has become a supergroup, increments
-- the count of the supergroup.
local function refuse(entry, lane, fields)
  count(KEYS[6], KEYS[1], 'settled')
  local chat = chat_of(lane)
  local current_chat = redis.call('HGET', ARGV[9] .. chat, 'movedTo') or chat
  redis.call('HINCRBY', ARGV[9] .. current_chat, 'laneRefusals', 1)
  local record = {
    entry = entry,
    chat = chat,
    outcome = 'refused',
    reason = 'lane_full',
    traceId = (field(fields, 'traceparent') or ''):match('^[^-]*-([^-]*)') or '',
    sentAtMs = sent_ms(fields),
    settledAtMs = now,
    attempts = 0,
    recoveries = 0,
  }
  redis.call('XADD', KEYS[5], '*', 'outcome', 'refused', 'record', cjson.encode(record))
  redis.call('XACK', KEYS[1], ARGV[1], entry)
  redis.call('XDEL', KEYS[1], entry)
  redis.call('DEL', ARGV[5] .. entry)
end

local streams = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
if not streams then
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(group, 'name') == ARGV[1] then
      return { { field(group, 'last-delivered-id'), 0, {}, {}, {}, {} }, now }
    end
  end
end

local touched, order, broken, refusals, last = {}, {}, {}, {}, ''
for _, entry in ipairs(streams[1][2]) do
  last = entry[1]
  local chat = field(entry[2], 'chat')
  if chat and is_lane(chat) then
    local lane, cancels = ARGV[4] .. chat, field(entry[2], 'cancels')
    local full = is_full(lane, entry[2])
    if full and not chat:find('@', 1, true) then
      refuse(last, chat, entry[2])
      refusals[#refusals + 1] = { last, chat_of(chat), field(entry[2], 'traceparent') or '' }
    else
      redis.call('RPUSH', lane, last)
      if full then
        redis.call('HSET', ARGV[5] .. last, 'refused', 'lane_full')
      elseif cancels and not field(entry[2], 'replayed') then
        cancel(lane, last, cancels)
      end
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

local heads, cancelled_heads = {}, {}
for _, chat in ipairs(order) do
  local head = redis.call('LINDEX', ARGV[4] .. chat, 0)
  heads[#heads + 1] = { head, chat, origin_of(KEYS[1], head) }
  if redis.call('HEXISTS', ARGV[5] .. head, 'cancelled') == 1 then
    cancelled_heads[#cancelled_heads + 1] = head
  end
end
local reply = { last, #streams[1][2], heads, broken, cancelled_heads, refusals }
redis.call('SET', KEYS[4], cmsgpack.pack({ ARGV[8], reply }), 'EX', KEEP_SECONDS)
return { reply, now }
