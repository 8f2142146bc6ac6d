-- Counts the messages that became dead letters between two times, without the operators' own messages.
-- KEYS  1 dead   2 counts
-- ARGV  1 since, in ms, '' for the time of the last `closeLetters`   2 until, in ms, '' for now
--       3 maximum number of letters to look at
-- Reply the number
local since = ARGV[1] ~= '' and ARGV[1] or redis.call('HGET', KEYS[2], 'lettersClosedMs') or '-'
local found = 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], since, ARGV[2] ~= '' and ARGV[2] or '+', 'COUNT', ARGV[3])) do
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'chat' and not fields[i + 1]:find('!!$') then
      found = found + 1
    end
  end
end
return found
