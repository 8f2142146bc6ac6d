-- Appends the message to its session's log, once, and loads the window for the model's request. Without a message it only
-- loads. The caller may have cached a part of the window, which the script then does not load again.
-- KEYS  1 turn   2 session   3 log
-- ARGV  1 fencing token   2 step   3 record of the message (JSON), or ''   4 maximum number of bytes to load
--       5 numbers of the attempt's last confirmed and last sent write
--       6 index after the newest cached record, or 0   7 SHA-1 of that record's line   8 index of the cached head, or -1
-- Reply {'fenced'} or
--       {'opened', number of records in the session, index of the first record loaded, index at which the window begins,
--        head record | '', {record, …}, index of the head | -1, index of the window's oldest record that is not archived,
--        index of the message | the number of records, 1 if the cache is valid, else 0}
-- The head is the record that opens the window, a compaction or a seed. It lies before the window. The script loads the head
-- unless the caller has cached it.
-- All indexes count from the session's first record. The log begins after the archived records.
-- The cache is valid if its newest line is still at its place in the log: a log only grows at its end, and each line
-- contains a unique id, so all records before that line are unchanged, too.
-- include: fence
-- `open_window` returns the reply without 'opened'. `cached` is {ARGV 6, ARGV 7, ARGV 8}.
local CHUNK = 32
local function open_window(keys, step, record, bytes_max, cached)
  local archived = tonumber(redis.call('HGET', keys.session, 'archived') or 0)
  local size = archived + redis.call('LLEN', keys.log)
  if record ~= '' and redis.call('HEXISTS', keys.turn, 'did:' .. step) == 0 then
    redis.call('RPUSH', keys.log, record)
    redis.call('HSET', keys.turn, 'did:' .. step, size)
    redis.call('HINCRBY', keys.session, 'bytes', #record)
    redis.call('HINCRBY', keys.session, 'entries', 1)
    size = size + 1
  end
  -- A message that is not cached is always loaded, even if large records (tool results) follow it.
  local pending = record == '' and size or tonumber(redis.call('HGET', keys.turn, 'did:' .. step))

  local window = tonumber(redis.call('HGET', keys.session, 'windowStart') or 0)
  local start = math.max(archived, window)
  local cached_end = tonumber(cached[1])
  local line = cached_end > archived and cached_end <= size and redis.call('LINDEX', keys.log, cached_end - 1 - archived)
  local is_cache_valid = line and redis.sha1hex(line) == cached[2]
  local floor = is_cache_valid and math.max(start, cached_end) or start
  local bytes_left = tonumber(bytes_max)
  local newest_first = {}
  local first = size
  while first > floor and (bytes_left > 0 or first > pending) do
    local from = math.max(floor, first - CHUNK)
    local chunk = redis.call('LRANGE', keys.log, from - archived, first - 1 - archived)
    for i = #chunk, 1, -1 do
      bytes_left = bytes_left - #chunk[i]
      if bytes_left < 0 and first <= pending then
        break
      end
      newest_first[#newest_first + 1] = chunk[i]
      first = first - 1
    end
  end

  local records = {}
  for i = #newest_first, 1, -1 do
    records[#records + 1] = newest_first[i]
  end
  -- A head in use is never archived, so an index before the log means that there is no head.
  local head = tonumber(redis.call('HGET', keys.session, 'head') or -1)
  if head < archived then
    head = -1
  end
  local has_head = head < 0 or is_cache_valid and head == tonumber(cached[3])
  local head_record = not has_head and redis.call('LINDEX', keys.log, head - archived) or ''
  return { size, first, window, head_record, records, head, start, pending, is_cache_valid and 1 or 0 }
end

if not begin_write(KEYS[1], ARGV[1], ARGV[5]) then
  return { 'fenced' }
end
local keys = { turn = KEYS[1], session = KEYS[2], log = KEYS[3] }
return { 'opened', unpack(open_window(keys, ARGV[2], ARGV[3], ARGV[4], { ARGV[6], ARGV[7], ARGV[8] })) }
