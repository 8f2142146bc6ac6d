-- Begins an attempt at a message: takes the fencing token, so that no earlier attempt can change anything any more. A
-- call that is re-sent because its reply was lost is recognised by its token: it gets the same reply, and nothing is
-- counted twice.
-- An attempt that ended without a verdict died with its process, and every message that ran there may have killed it.
-- From the second such end on, a message is a poison candidate, and of these only the oldest may run. So the message
-- that causes the crashes exhausts its own attempts, and not those of its neighbours. One whose chat is paused gives its
-- place to the next, and is a candidate again when it is resumed.
-- A group that became a supergroup has two lanes and one session. Messages under its old id come first, except that a
-- message under the new id may continue if it began before the change was known. So only one of the two lanes has a
-- message that may begin. The command lane of a chat waits for no other, nor does its desk lane, which knows no pause.
-- KEYS  1 inbound   2 turn   3 lane   4 chat  5 poison candidates   6 absent, for the key that is not named: see keys.ts
--       7 paused: an attempt that runs goes on, and none begins   8 gone: the chats in which the bot cannot write
-- ARGV  1 entry   2 id for a session, used when the chat has none yet   3 prefix of session keys
--       4 ends without a verdict that make a poison candidate   5 fence, which no other attempt has
--       6 lane   7 prefix of chat keys   8 prefix of lane keys   9 prefix of turn keys
--       10 chat of the lane   11 prefix of log keys
-- Reply {'settled', head | '', its lane, its traceparent, its person | ''}   the entry is gone: its outcome is written
--       {'waiting', head, its lane, its traceparent, its person | ''}        another message of the chat comes first
--       {'poison candidate', ms since the epoch}           an older poison candidate runs, or will
--       {'paused'}                                an operator has paused the chat, or every chat
--       {'fenced'}                                sent again, and another attempt has taken over meanwhile
--       {'begun', ms since the epoch, chat whose session it is, entry fields, turn fields, session id, session fields, chat fields,
--        entries behind it in its lane, what is noted of the bot's absence from the chat | ''}
-- include: chat, entry, time

-- How many earlier fencing tokens are kept, to recognise a call that is sent again. It is sent as soon as its connection is
-- back, and fewer attempts than this begin until then.
local FENCES_KEPT = 16

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

-- The head of another lane that must go first, if there is one.
local function in_the_way(chat, hasToHaveBegun)
  local first = redis.call('LINDEX', ARGV[8] .. chat, 0)
  if not first or #redis.call('XRANGE', KEYS[1], first, first) == 0 then
    return nil
  end
  if hasToHaveBegun and redis.call('HEXISTS', ARGV[9] .. first, 'fence') == 0 then
    return nil
  end
  return { 'waiting', first, chat, origin_of(KEYS[1], first) }
end

local moved = redis.call('HMGET', KEYS[4], 'movedTo', 'movedFrom')
local current_chat = moved[1] or ARGV[10]
local pointer = ARGV[7] .. current_chat
local isMain = ARGV[6] == ARGV[10]
local other = isMain and moved[1] and in_the_way(moved[1], true)
if isMain and not other and moved[2] and redis.call('HEXISTS', KEYS[2], 'fence') == 0 then
  other = in_the_way(moved[2], false)
end
if other then
  return other
end

local now = now_ms()

local function begun()
  local session = redis.call('HGET', pointer, 'session')
  -- On trial, the message runs in a fresh session, and the chat stays in the one before until it is answered there.
  local trial = redis.call('HMGET', KEYS[2], 'trialOf', 'trialIn')
  if trial[1] == session then
    session = trial[2]
  end
  -- It must not end in the middle of the turn; settle.lua says when it may again.
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
    redis.call('HGETALL', pointer),
    redis.call('LLEN', KEYS[3]) - 1,
    redis.call('ZSCORE', KEYS[8], ARGV[10]:match('^-?%d+')) or '',
  }
end

-- A full Redis refuses this, the first write, and with it the whole script: nothing is counted.
redis.call('HSETNX', pointer, 'session', ARGV[2])
local fences = redis.call('HMGET', KEYS[2], 'fence', 'fencesBefore')
local before = fences[2] or ''
if fences[1] == ARGV[5] then
  return begun()
end
if before:find(ARGV[5], 1, true) then
  return { 'fenced' }
end
local cut = redis.call('HGET', KEYS[2], 'running')
if cut then
  redis.call('HDEL', KEYS[2], 'running')
  redis.call('HSET', KEYS[2], 'cutFrom', cut)
  redis.call('HINCRBY', KEYS[2], 'crashesInRow', 1)
  redis.call('HINCRBY', KEYS[2], 'crashes', 1)
end
for _, pause in ipairs(knows_no_pause(ARGV[6]) and {} or { '*', ARGV[10], current_chat, moved[2] or '*' }) do
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
  redis.call('HSET', KEYS[2], 'fencesBefore', (fences[1] .. ' ' .. before):sub(1, FENCES_KEPT * (#fences[1] + 1)))
  redis.call('HDEL', KEYS[2], 'did:ended:' .. fences[1])
end
redis.call('HSET', KEYS[2], 'running', now, 'fence', ARGV[5], 'writes', 0)
redis.call('HSETNX', KEYS[2], 'firstBegunAt', now)
redis.call('HINCRBY', KEYS[2], 'attempts', 1)
return begun()
