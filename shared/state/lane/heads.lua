-- Lists the heads of a slice of the lanes, without those of paused lanes and those that wait for a person's decision. Removes
-- heads that are no longer in the stream. Skips lanes that this version does not know.
-- KEYS  1 inbound   2 lanes   3 absent: never exists; defers the script while the cluster moves the shard   4 paused
-- ARGV  1 prefix of lane keys   2 cursor, '0' to begin   3 number of lanes to look at   4 maximum number of entries to remove
--       5 prefix of turn keys
-- Reply {cursor of the next slice | '0' after the last one, {{head, chat, traceparent}, …}}
-- include: chat, entry, parked, time

-- Whether the head waits for a person. The wait ends with a decision, a cancellation, a further message or the deadline.
local function is_parked(turn, lane, now)
  local until_ms, behind, cancelled = parked(turn)
  return until_ms and until_ms > now and not cancelled and redis.call('LLEN', lane) - 1 <= behind
end

local paused = {}
for _, pause in ipairs(redis.call('HKEYS', KEYS[4])) do
  paused[pause] = true
end
local removals, now = tonumber(ARGV[4]), now_ms()

local function head_of(lane)
  local head = redis.call('LINDEX', lane, 0)
  local found = head and redis.call('XRANGE', KEYS[1], head, head)
  while head and not found[1] and removals > 0 do
    redis.call('LPOP', lane)
    removals = removals - 1
    head = redis.call('LINDEX', lane, 0)
    found = head and redis.call('XRANGE', KEYS[1], head, head)
  end
  return head, found and found[1]
end

local heads = {}
local slice = redis.call('SSCAN', KEYS[2], ARGV[2], 'COUNT', ARGV[3])
for _, chat in ipairs(slice[2]) do
  if is_lane(chat) then
    local head, found = head_of(ARGV[1] .. chat)
    if not head then
      redis.call('SREM', KEYS[2], chat)
    elseif
      found
      and (ignores_pauses(chat) or not paused['*'] and not paused[chat_of(chat)])
      and not is_parked(ARGV[5] .. head, ARGV[1] .. chat, now)
    then
      heads[#heads + 1] = { head, chat, field(found[2], 'traceparent') or '' }
    end
  end
end
return { slice[1], heads }
