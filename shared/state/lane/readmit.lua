-- Repairs lanes after a crash, a lost write or a flushed queue: puts pending entries that are missing from their lane back
-- in their places. One call looks at a slice of the pending entries, to block Redis only briefly.
-- KEYS  1 inbound   2 lanes   3 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 group   2 prefix of lane keys   3 number of pending entries in a slice   4 last entry of the previous slice, or ''
-- Reply {last entry of this slice | '' if it was the final one, {entry that names no chat, …},
--        number of entries put back, {entry of a lane that a later version may know, …}, ms since the epoch}
-- include: chat, entry, time
local function older(a, b)
  local ams, an = a:match('^(%d+)%-(%d+)$')
  local bms, bn = b:match('^(%d+)%-(%d+)$')
  if ams == bms then
    return tonumber(an) < tonumber(bn)
  end
  return tonumber(ams) < tonumber(bms)
end

-- Inserts an entry into its sorted lane, unless the lane has the entry already. Returns whether the entry was inserted.
local function put_back(lane, entry)
  local low, high = 0, redis.call('LLEN', lane)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if older(redis.call('LINDEX', lane, middle), entry) then
      low = middle + 1
    else
      high = middle
    end
  end
  local next_one = redis.call('LINDEX', lane, low)
  if next_one == entry or redis.call('LPOS', lane, entry) then
    return false
  end
  if next_one then
    redis.call('LINSERT', lane, 'BEFORE', next_one, entry)
  else
    redis.call('RPUSH', lane, entry)
  end
  return true
end

local broken, foreign, restored = {}, {}, 0
local from = ARGV[4] == '' and '-' or '(' .. ARGV[4]
local slice = redis.call('XPENDING', KEYS[1], ARGV[1], from, '+', ARGV[3])
for _, pending in ipairs(slice) do
  local entry = pending[1]
  local found = redis.call('XRANGE', KEYS[1], entry, entry)
  local chat = found[1] and field(found[1][2], 'chat')
  if not found[1] then
    redis.call('XACK', KEYS[1], ARGV[1], entry)
  elseif not chat then
    broken[#broken + 1] = entry
  elseif not is_lane(chat) then
    foreign[#foreign + 1] = entry
  elseif put_back(ARGV[2] .. chat, entry) then
    redis.call('SADD', KEYS[2], chat)
    restored = restored + 1
  end
end
local last = slice[#slice]
return { #slice == tonumber(ARGV[3]) and last[1] or '', broken, restored, foreign, now_ms() }
