-- Settles a message, unless it has its outcome already, and returns the lane's next head. If the lane is empty and the group
-- became a supergroup, returns the head of the lane under the chat's other id.
-- KEYS  1 inbound   2 lane   3 lanes   4 turn   5 outcomes   6 dead   7 counts  8 poison candidates   9 chat
--       10 absent: a key that never exists; it defers the script while the cluster moves the shard   11 session   12 log
-- ARGV  1 entry   2 lane   3 fencing token   4 group   5 outcome   6 ledger record (JSON)
--       7 seconds after which an open session without messages expires, 0 for never   8 seconds to keep the turn
--       9 numbers of the attempt's last confirmed and last sent write   10 prefix of lane keys   11 prefix of turn keys
--       12 '1' to store a dead letter with the answer and the delivery states of its parts
-- Reply {'settled' | 'repeated' (the message has its outcome) | 'fenced' (another attempt took over, or Redis has lost a write
--        of this one), next head | '', its lane, its traceparent, its person | ''}
-- include: counts, entry, fence, time
-- The fields of a turn that hold its reply: the conclusion, the delivery states of its parts, and facts about its delivery.
local function reply_of(turn)
  local reply, all = {}, redis.call('HGETALL', turn)
  for i = 1, #all, 2 do
    if all[i] == 'conclusion' or all[i]:match('^part:') or all[i]:match('^reply') then
      reply[#reply + 1], reply[#reply + 2] = all[i], all[i + 1]
    end
  end
  return cjson.encode(reply)
end

local function letter_of(found)
  local letter = { 'entry', ARGV[1], 'record', ARGV[6] }
  if ARGV[12] == '1' then
    letter[5], letter[6] = 'answer', reply_of(KEYS[4])
  end
  for _, word in ipairs(as_edited(found[1][2], redis.call('HGET', KEYS[4], 'edited'))) do
    letter[#letter + 1] = word
  end
  return letter
end

local function settle(found)
  count(KEYS[7], KEYS[1], 'settled')
  redis.call('XADD', KEYS[5], '*', 'outcome', ARGV[5], 'record', ARGV[6])
  if ARGV[12] == '1' or ARGV[5] == 'failed' then
    redis.call('XADD', KEYS[6], '*', unpack(letter_of(found)))
  end
  redis.call('XACK', KEYS[1], ARGV[4], ARGV[1])
  redis.call('XDEL', KEYS[1], ARGV[1])
  redis.call('LREM', KEYS[2], 1, ARGV[1])
  redis.call('ZREM', KEYS[8], ARGV[1])
  redis.call('EXPIRE', KEYS[4], ARGV[8])
end

-- Restarts the time after which an open session expires. For a closed session, release.lua sets that time.
local function extend_session(seconds)
  if redis.call('HEXISTS', KEYS[11], 'closedBy') == 1 then
    return
  end
  for key = 11, 12 do
    if seconds > 0 then
      redis.call('EXPIRE', KEYS[key], seconds)
    else
      redis.call('PERSIST', KEYS[key])
    end
  end
end

local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
local result = 'repeated'
if found[1] then
  if not last_write(KEYS[4], ARGV[3], ARGV[9]) then
    return { 'fenced', '', '', '', '' }
  end
  result = 'settled'
  settle(found)
  extend_session(tonumber(ARGV[7]))
end
local head, chat = redis.call('LINDEX', KEYS[2], 0), ARGV[2]
if not head then
  redis.call('SREM', KEYS[3], chat)
  local other_ids = redis.call('HMGET', KEYS[9], 'movedTo', 'movedFrom')
  chat = other_ids[1] or other_ids[2]
  head = chat and redis.call('LINDEX', ARGV[10] .. chat, 0)
end
if not head then
  return { result, '', '', '', '' }
end
-- The next message may have waited long behind this one, so the time after which it is overdue starts now.
redis.call('HSET', ARGV[11] .. head, 'resumedAt', now_ms())
return { result, head, chat, origin_of(KEYS[1], head) }
