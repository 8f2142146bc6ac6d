-- Records the pending message in its session, once, and loads the window that the model will see. Without a message it
-- only loads.
-- KEYS  1 turn   2 session   3 log
-- ARGV  1 fence   2 step   3 record (JSON), or ''   4 most bytes to load   5 which write it is: see fence.lua
--       6 index behind the newest record that the caller holds, or 0   7 SHA-1 of that record's line
--       8 index of the head that the caller holds, or -1
-- Reply {'fenced'} or
--       {'opened', records of the session, index of the first record loaded, index at which the window begins,
--        head record | '', {record, …}, index of the head | -1, index of the oldest record that may be shown,
--        index of the message | the number of records, 1 when what the caller holds stands in this log}
-- The head is the record that opens the window, a compaction or a seed; it is loaded whatever lies between.
-- All indexes count from the session's first record; the log begins behind those that are archived.
-- A log only grows at its end, and each line has an id of its own. So where the caller's newest line still stands in its
-- place, everything before it does, and neither these records nor the head that the caller holds are loaded again.
-- include: fence
-- Returns what the reply says behind 'opened'. `held` is what the arguments 6 to 8 are.
local CHUNK = 32
local function open_window(keys, step, record, bytes_max, held)
  local archived = tonumber(redis.call('HGET', keys.session, 'archived') or 0)
  local size = archived + redis.call('LLEN', keys.log)
  if record ~= '' and redis.call('HEXISTS', keys.turn, 'did:' .. step) == 0 then
    redis.call('RPUSH', keys.log, record)
    redis.call('HSET', keys.turn, 'did:' .. step, size)
    redis.call('HINCRBY', keys.session, 'bytes', #record)
    redis.call('HINCRBY', keys.session, 'entries', 1)
    size = size + 1
  end
  -- The message itself is loaded whatever followed it: a scrub, or tool results.
  local pending = record == '' and size or tonumber(redis.call('HGET', keys.turn, 'did:' .. step))

  local window = tonumber(redis.call('HGET', keys.session, 'windowStart') or 0)
  local start = math.max(archived, window)
  local behind = tonumber(held[1])
  local line = behind > archived and behind <= size and redis.call('LINDEX', keys.log, behind - 1 - archived)
  local isHeld = line and redis.sha1hex(line) == held[2]
  local floor = isHeld and math.max(start, behind) or start
  local left = tonumber(bytes_max)
  local loaded = {}
  local first = size
  while first > floor and (left > 0 or first > pending) do
    local from = math.max(floor, first - CHUNK)
    local chunk = redis.call('LRANGE', keys.log, from - archived, first - 1 - archived)
    for i = #chunk, 1, -1 do
      left = left - #chunk[i]
      if left < 0 and first <= pending then
        break
      end
      loaded[#loaded + 1] = chunk[i]
      first = first - 1
    end
  end

  local records = {}
  for i = #loaded, 1, -1 do
    records[#records + 1] = loaded[i]
  end
  -- A head never leaves the log while it is in use; an index before the log names no head.
  local head = tonumber(redis.call('HGET', keys.session, 'head') or -1)
  if head < archived then
    head = -1
  end
  local isKnown = head < 0 or isHeld and head == tonumber(held[3])
  local opening = not isKnown and redis.call('LINDEX', keys.log, head - archived) or ''
  return { size, first, window, opening, records, head, start, pending, isHeld and 1 or 0 }
end

if not begin_write(KEYS[1], ARGV[1], ARGV[5]) then
  return { 'fenced' }
end
local keys = { turn = KEYS[1], session = KEYS[2], log = KEYS[3] }
return { 'opened', unpack(open_window(keys, ARGV[2], ARGV[3], ARGV[4], { ARGV[6], ARGV[7], ARGV[8] })) }
