-- Begins an attempt at a message. Stores a new fencing token, so that earlier attempts can no longer write. A call that is
-- sent again because its reply was lost carries the same token, so nothing is counted twice.
-- Crashes: an attempt that ended without a verdict probably died with its process, and any message of that process may have
-- caused this. After two such ends in a row, a message is a poison candidate. Of all poison candidates, only the oldest may
-- run, so a message that kills processes uses up its own attempts and not those of other messages. A poison candidate in a
-- paused chat makes way for the next one, and is a candidate again after the pause.
-- Supergroups: a group that became a supergroup has two lanes and one session. Messages under its old id come first, except
-- that a message under the new id may continue if it began before the change was known. So only one of the two lanes has a
-- message that may begin. Command lanes and desk lanes wait for no other lane, and pauses do not stop desk lanes.
-- KEYS  1 inbound   2 turn   3 lane   4 chat  5 poison candidates
--       6 absent: a key that never exists; it defers the script while the cluster moves the shard
--       7 paused: a pause stops no running attempt   8 gone: when the bot left chats or came back
-- ARGV  1 entry   2 id for a session, used when the chat has none yet   3 prefix of session keys
--       4 number of ends without a verdict that makes a poison candidate   5 fencing token, which no other attempt has
--       6 lane   7 prefix of chat keys   8 prefix of lane keys   9 prefix of turn keys
--       10 chat of the lane   11 prefix of log keys
-- Reply {'settled', head | '', its lane, its traceparent, its person | ''}   the message has its outcome
--       {'waiting', head, its lane, its traceparent, its person | ''}        another message of the chat comes first
--       {'poison candidate', ms since the epoch}  the message is one, and an older poison candidate comes first
--       {'paused'}                                an operator has paused the chat, or every chat
--       {'fenced'}                                a repeated call, and another attempt has taken over meanwhile
--       {'begun', ms since the epoch, chat that owns the session, entry fields, turn fields, session id, session fields,
--        chat fields, number of entries behind the message in its lane, score of the chat in KEYS 8 | ''}
-- include: chat, entry, time

-- How many earlier fencing tokens a turn stores, to recognise repeated calls. ioredis repeats a call as soon as the connection
-- is back, and fewer attempts than this begin before then.
local FENCES_MAX = 16

local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
local head = redis.call('LINDEX', KEYS[3], 0)
if not found[1] then
  if not head then
    return { 'settled', '', ARGV[6], '', '' }
  end
  return { 'settled', head, ARGV[6], origin_of(KEYS[1], head) }
end
if head and head ~= ARGV[1] then
  return { 'waiting', head, ARGV[6], origin_of(KEYS[1], head) }
end

-- The reply for a message that must wait for the head of another lane; nil if it need not. `only_if_begun`: the message waits
-- only if an attempt at that head has begun.
local function wait_for(chat, only_if_begun)
  local first = redis.call('LINDEX', ARGV[8] .. chat, 0)
  if not first or #redis.call('XRANGE', KEYS[1], first, first) == 0 then
    return nil
  end
  if only_if_begun and redis.call('HEXISTS', ARGV[9] .. first, 'fence') == 0 then
    return nil
  end
  return { 'waiting', first, chat, origin_of(KEYS[1], first) }
end

local ids = redis.call('HMGET', KEYS[4], 'movedTo', 'movedFrom')
local new_id, old_id = ids[1], ids[2]
local current_chat = new_id or ARGV[10]
local chat_key = ARGV[7] .. current_chat
local is_chat_lane = ARGV[6] == ARGV[10]
local wait = is_chat_lane and new_id and wait_for(new_id, true)
if is_chat_lane and not wait and old_id and redis.call('HEXISTS', KEYS[2], 'fence') == 0 then
  wait = wait_for(old_id, false)
end
if wait then
  return wait
end

local now = now_ms()

local function begun_reply()
  local session = redis.call('HGET', chat_key, 'session')
  -- A message on trial runs in a fresh session. The chat stays in the old session until the model answers in the fresh one.
  local trial = redis.call('HMGET', KEYS[2], 'trialOf', 'trialIn')
  if trial[1] == session then
    session = trial[2]
  end
  -- The session must not expire during the turn; settle.lua sets its expiry again.
  redis.call('PERSIST', ARGV[3] .. session)
  redis.call('PERSIST', ARGV[11] .. session)
  return {
    'begun',
    now,
    current_chat,
    found[1][2],
    redis.call('HGETALL', KEYS[2]),
    session,
    redis.call('HGETALL', ARGV[3] .. session),
    redis.call('HGETALL', chat_key),
    redis.call('LLEN', KEYS[3]) - 1,
    redis.call('ZSCORE', KEYS[8], ARGV[10]:match('^-?%d+')) or '',
  }
end

-- A full Redis refuses this first write and with it the whole script, so the attempt is not counted.
redis.call('HSETNX', chat_key, 'session', ARGV[2])
local fences = redis.call('HMGET', KEYS[2], 'fence', 'fencesBefore')
local earlier_fences = fences[2] or ''
if fences[1] == ARGV[5] then
  return begun_reply()
end
if earlier_fences:find(ARGV[5], 1, true) then
  return { 'fenced' }
end
local crashed_from = redis.call('HGET', KEYS[2], 'running')
if crashed_from then
  redis.call('HDEL', KEYS[2], 'running')
  redis.call('HSET', KEYS[2], 'cutFrom', crashed_from)
  redis.call('HINCRBY', KEYS[2], 'crashesInRow', 1)
  redis.call('HINCRBY', KEYS[2], 'crashes', 1)
end
for _, pause in ipairs(ignores_pauses(ARGV[6]) and {} or { '*', ARGV[10], current_chat, old_id or '*' }) do
  if redis.call('HEXISTS', KEYS[7], pause) == 1 then
    redis.call('ZREM', KEYS[5], ARGV[1])
    return { 'paused' }
  end
end
if tonumber(redis.call('HGET', KEYS[2], 'crashesInRow') or 0) >= tonumber(ARGV[4]) then
  redis.call('ZADD', KEYS[5], ARGV[1]:match('^%d+'), ARGV[1])
  local oldest = redis.call('ZRANGE', KEYS[5], 0, 0)[1]
  while oldest ~= ARGV[1] and #redis.call('XRANGE', KEYS[1], oldest, oldest) == 0 do
    redis.call('ZREM', KEYS[5], oldest)
    oldest = redis.call('ZRANGE', KEYS[5], 0, 0)[1]
  end
  if oldest ~= ARGV[1] then
    return { 'poison candidate', now }
  end
end
if fences[1] then
  redis.call('HSET', KEYS[2], 'fencesBefore', (fences[1] .. ' ' .. earlier_fences):sub(1, FENCES_MAX * (#fences[1] + 1)))
  redis.call('HDEL', KEYS[2], 'did:ended:' .. fences[1])
end
redis.call('HSET', KEYS[2], 'running', now, 'fence', ARGV[5], 'writes', 0)
redis.call('HSETNX', KEYS[2], 'firstBegunAt', now)
redis.call('HINCRBY', KEYS[2], 'attempts', 1)
return begun_reply()
