-- The segments of an archive whose bytes are in its list: a pointer begins with a brace.
-- KEYS  1 archive
-- ARGV  1 segments to read at a time
-- Reply {index, …}
local chunk = tonumber(ARGV[1])
local unmoved = {}
for from = 0, redis.call('LLEN', KEYS[1]) - 1, chunk do
  for i, item in ipairs(redis.call('LRANGE', KEYS[1], from, from + chunk - 1)) do
    if string.sub(item, 1, 1) ~= '{' then
      unmoved[#unmoved + 1] = from + i - 1
    end
  end
end
return unmoved
