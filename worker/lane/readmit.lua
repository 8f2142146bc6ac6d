-- Repairs the effects of a crash, a lost write or a flushed queue: puts every pending entry into its lane, at its
-- place.
-- KEYS  1 inbound   2 lanes   3 absent, for the keys that are not named: see keys.ts
--       4 paused
-- ARGV  1 group   2 prefix of lane keys   3 most pending entries to look at
-- Reply {{{head, chat, traceparent}, …} of all lanes that are not paused, {entry that names no chat, …}, number of entries put back}
-- include: chat, entry
local function older(a, b)
  local ams, an = a:match('^(%d+)%-(%d+)$')
  local bms, bn = b:match('^(%d+)%-(%d+)$')
  if ams == bms then
    return tonumber(an) < tonumber(bn)
  end
  return tonumber(ams) < tonumber(bms)
end

local function put_back(lane, entry)
  for _, other in ipairs(redis.call('LRANGE', lane, 0, -1)) do
    if older(entry, other) then
      redis.call('LINSERT', lane, 'BEFORE', other, entry)
      return
    end
  end
  redis.call('RPUSH', lane, entry)
end

local broken, restored = {}, 0
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', ARGV[3])) do
  local entry = pending[1]
  local found = redis.call('XRANGE', KEYS[1], entry, entry)
  local chat = found[1] and field(found[1][2], 'chat')
  if not found[1] then
    redis.call('XACK', KEYS[1], ARGV[1], entry)
  elseif not chat or not is_lane(chat) then
    broken[#broken + 1] = entry
  elseif not redis.call('LPOS', ARGV[2] .. chat, entry) then
    put_back(ARGV[2] .. chat, entry)
    redis.call('SADD', KEYS[2], chat)
    restored = restored + 1
  end
end

local paused = {}
for _, pause in ipairs(redis.call('HKEYS', KEYS[4])) do
  paused[pause] = true
end
local function is_paused(lane)
  return paused['*'] or paused[chat_of(lane)]
end

local heads = {}
for _, chat in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local head = redis.call('LINDEX', ARGV[2] .. chat, 0)
  local found = head and redis.call('XRANGE', KEYS[1], head, head)
  while head and not found[1] do
    redis.call('LPOP', ARGV[2] .. chat)
    head = redis.call('LINDEX', ARGV[2] .. chat, 0)
    found = head and redis.call('XRANGE', KEYS[1], head, head)
  end
  if not head then
    redis.call('SREM', KEYS[2], chat)
  elseif is_lane(chat) and not is_paused(chat) then
    heads[#heads + 1] = { head, chat, field(found[1][2], 'traceparent') or '' }
  end
end
return { heads, broken, restored }
