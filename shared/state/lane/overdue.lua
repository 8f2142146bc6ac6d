-- Counts the overdue messages in some of a shard's lanes. A lane is overdue when it has shown no sign of life for too long:
-- the arrival of its first message, progress of the answer to that message, the end of the message before, or the end of
-- a pause. A message that waits for a person's decision is not overdue. A lane holds its messages in
-- order, so the first that has no answer speaks for all behind it, however many these are.
-- KEYS  1 inbound   2 lanes   3 absent, for the keys that are not named: see keys.ts   4 paused   5 resumed
-- ARGV  1 cursor of the lanes, '0' to begin: then also what is in no lane yet   2 how many lanes to look at
--       3 ms before which a message is overdue   4 ms since the epoch   5 prefix of lane keys   6 prefix of turn keys
--       7 field of a turn whose user has the answer   8 group
-- Reply {next cursor, '0' at the end, overdue, overdue in paused chats,
--        {{entry, chat, traceparent, messages behind and with it, 1 | 0: paused}, … of each lane whose first lies ahead}}
--       where overdue is {messages, chats, oldest entry | '', its chat, its traceparent}
-- include: chat, entry, parked
-- An answered message stays in its lane only while its session is compacted.
local ANSWERED_MAX = 20
local UNREAD_MAX = 100
local before, now = tonumber(ARGV[3]), tonumber(ARGV[4])

local paused = {}
for _, pause in ipairs(redis.call('HKEYS', KEYS[4])) do
  paused[pause] = true
end

local function tally()
  return { count = { 0, 0, '', '', '' }, seen = {} }
end
local late, resting, ahead = tally(), tally(), {}

local resumed = {}
local ends = redis.call('HGETALL', KEYS[5])
for i = 1, #ends, 2 do
  resumed[ends[i]] = tonumber(ends[i + 1])
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
  if ms_of(found[1]) < before then
    add(is_paused and resting or late, messages, chat, found)
  elseif ms_of(found[1]) > now then
    ahead[#ahead + 1] = { found[1], chat, field(found[2], 'traceparent') or '', all, is_paused and 1 or 0 }
  end
end

-- How many of a lane are overdue.
local function late_in(lane, length)
  local from, to = 0, length
  while from < to do
    local middle = math.floor((from + to) / 2)
    if ms_of(redis.call('LINDEX', lane, middle)) < before then
      from = middle + 1
    else
      to = middle
    end
  end
  return from
end

-- The newest sign of life of a lane, other than the arrival of its head. A head that waits for a person counts from the
-- decision, the end of its waiting time, or the next message. Until one of these, the result lies in the future.
local function alive_ms(head, lane, chat)
  local signs = redis.call('HMGET', ARGV[6] .. head, 'resumedAt', 'heardAt')
  local alive = math.max(tonumber(signs[1] or 0), tonumber(signs[2] or 0), resumed['*'] or 0, resumed[chat] or 0)
  local until_ms, behind, cancelled = parked(ARGV[6] .. head)
  if not until_ms then
    return alive
  end
  local news = redis.call('LINDEX', lane, behind + 1)
  return math.max(alive, math.min(until_ms, news and ms_of(news) or cancelled and 0 or math.huge))
end

local function look_at(name)
  local lane, chat = ARGV[5] .. name, chat_of(name)
  local head = redis.call('LINDEX', lane, 0)
  if not head or ms_of(head) >= before and ms_of(head) <= now or alive_ms(head, lane, chat) >= before then
    return
  end
  for at, entry in ipairs(redis.call('LRANGE', lane, 0, ANSWERED_MAX)) do
    local found = redis.call('HEXISTS', ARGV[6] .. entry, ARGV[7]) == 0 and redis.call('XRANGE', KEYS[1], entry, entry)
    if found and found[1] then
      local length = redis.call('LLEN', lane)
      local is_paused = not knows_no_pause(name) and (paused['*'] or paused[chat])
      note(found[1], chat, is_paused, late_in(lane, length) - at + 1, length - at + 1)
      return
    end
  end
end

-- No pause keeps a message out of its lane: what is in none for long has been left behind.
local function look_before_the_lanes()
  local read, groups = '0-0', redis.pcall('XINFO', 'GROUPS', KEYS[1])
  for _, group in ipairs(groups) do
    read = field(group, 'name') == ARGV[8] and field(group, 'last-delivered-id') or read
  end
  local waiting = redis.call('XRANGE', KEYS[1], '(' .. read, '+', 'COUNT', UNREAD_MAX)
  for at, found in ipairs(waiting) do
    if at == 1 or ms_of(found[1]) < before then
      note(found, chat_of(field(found[2], 'chat') or 'unknown'), false, 1, #waiting)
    end
  end
end

if ARGV[1] == '0' then
  look_before_the_lanes()
end
local slice = redis.call('SSCAN', KEYS[2], ARGV[1], 'COUNT', ARGV[2])
for _, name in ipairs(slice[2]) do
  look_at(name)
end
return { slice[1], late.count, resting.count, ahead }
