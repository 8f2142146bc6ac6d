-- Counts the overdue messages in some of a shard's lanes. A lane is overdue when its last sign of life is too old. Signs of
-- life are: the arrival of the first message, progress of its answer, a decision on its question, the outcome of the previous
-- message, and the end of a pause. A message that waits for a person's decision is not overdue. A lane holds its messages in
-- the order of their arrival, so the script looks only at the first message without an answer.
-- KEYS  1 inbound   2 lanes   3 absent: never exists; defers the script while the cluster moves the shard   4 paused
--       5 resumed
-- ARGV  1 cursor of the lanes; '0' begins, and includes entries that are in no lane yet   2 how many lanes to look at
--       3 ms since the epoch: messages without a sign of life since then are overdue   4 the present, in ms since the epoch
--       5 prefix of lane keys   6 prefix of turn keys   7 field that a turn has once the user has the answer   8 group
-- Reply {next cursor, '0' at the end, overdue, overdue in paused chats,
--        {{entry, chat, traceparent, number of messages from the entry on, 1 if paused, else 0}, …}: of each lane and of the
--        unread entries, the first message without an answer if its time of acceptance lies in the future}
--       where overdue is {messages, chats, oldest entry | '', its chat, its traceparent}
-- include: chat, entry, parked
-- How many answered messages to skip at most. An answered message stays in its lane only while its session is compacted.
local ANSWERED_MAX = 20
local UNREAD_MAX = 100
local since, now = tonumber(ARGV[3]), tonumber(ARGV[4])

local paused = {}
for _, pause in ipairs(redis.call('HKEYS', KEYS[4])) do
  paused[pause] = true
end

local function tally()
  return { count = { 0, 0, '', '', '' }, seen = {} }
end
local overdue, overdue_paused, future = tally(), tally(), {}

local pause_ends = {}
local ends = redis.call('HGETALL', KEYS[5])
for i = 1, #ends, 2 do
  pause_ends[ends[i]] = tonumber(ends[i + 1])
end

local function ms_of(entry)
  return tonumber(entry:match('^%d+') or 0)
end

local function add(to, messages, chat, found)
  to.count[1] = to.count[1] + messages
  if not to.seen[chat] then
    to.seen[chat] = true
    to.count[2] = to.count[2] + 1
  end
  if to.count[3] == '' or ms_of(found[1]) < ms_of(to.count[3]) then
    to.count[3], to.count[4], to.count[5] = found[1], chat, field(found[2], 'traceparent') or ''
  end
end

local function note(found, chat, is_paused, messages, all)
  if ms_of(found[1]) < since then
    add(is_paused and overdue_paused or overdue, messages, chat, found)
  elseif ms_of(found[1]) > now then
    future[#future + 1] = { found[1], chat, field(found[2], 'traceparent') or '', all, is_paused and 1 or 0 }
  end
end

-- Counts the messages of a lane that are old enough to be overdue.
local function overdue_in(lane, length)
  local from, to = 0, length
  while from < to do
    local middle = math.floor((from + to) / 2)
    if ms_of(redis.call('LINDEX', lane, middle)) < since then
      from = middle + 1
    else
      to = middle
    end
  end
  return from
end

-- The time of a lane's newest sign of life, other than the arrival of its head. While the head waits for a person, this time
-- lies in the future. The wait ends with a decision, a cancellation, the next message or the deadline.
local function alive_ms(head, lane, chat)
  local signs = redis.call('HMGET', ARGV[6] .. head, 'resumedAt', 'heardAt')
  local pause_end = math.max(pause_ends['*'] or 0, pause_ends[chat] or 0)
  local alive = math.max(tonumber(signs[1] or 0), tonumber(signs[2] or 0), pause_end)
  local until_ms, behind, cancelled = parked(ARGV[6] .. head)
  if not until_ms then
    return alive
  end
  local next_message = redis.call('LINDEX', lane, behind + 1)
  local end_ms = next_message and ms_of(next_message) or cancelled and 0 or math.huge
  return math.max(alive, math.min(until_ms, end_ms))
end

local function look_at(name)
  local lane, chat = ARGV[5] .. name, chat_of(name)
  local head = redis.call('LINDEX', lane, 0)
  if not head or ms_of(head) >= since and ms_of(head) <= now or alive_ms(head, lane, chat) >= since then
    return
  end
  for at, entry in ipairs(redis.call('LRANGE', lane, 0, ANSWERED_MAX)) do
    local found = redis.call('HEXISTS', ARGV[6] .. entry, ARGV[7]) == 0 and redis.call('XRANGE', KEYS[1], entry, entry)
    if found and found[1] then
      local length = redis.call('LLEN', lane)
      local is_paused = not ignores_pauses(name) and (paused['*'] or paused[chat])
      note(found[1], chat, is_paused, overdue_in(lane, length) - at + 1, length - at + 1)
      return
    end
  end
end

-- Notes the entries that admission has not read: the first one, and all old ones. Such entries are overdue even in a paused
-- chat, because pauses do not stop admission.
local function look_at_unread()
  local newest_read, groups = '0-0', redis.pcall('XINFO', 'GROUPS', KEYS[1])
  for _, group in ipairs(groups) do
    newest_read = field(group, 'name') == ARGV[8] and field(group, 'last-delivered-id') or newest_read
  end
  local unread = redis.call('XRANGE', KEYS[1], '(' .. newest_read, '+', 'COUNT', UNREAD_MAX)
  for at, found in ipairs(unread) do
    if at == 1 or ms_of(found[1]) < since then
      note(found, chat_of(field(found[2], 'chat') or 'unknown'), false, 1, #unread)
    end
  end
end

if ARGV[1] == '0' then
  look_at_unread()
end
local slice = redis.call('SSCAN', KEYS[2], ARGV[1], 'COUNT', ARGV[2])
for _, name in ipairs(slice[2]) do
  look_at(name)
end
return { slice[1], overdue.count, overdue_paused.count, future }
