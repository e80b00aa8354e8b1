-- SPDX-License-Identifier: Apache-2.0
--
-- Lua with known stacks, 5.1 to 5.4. Argument: FILE. In turn it runs
--
--   shares   sixty, thirty and ten use these shares of the time
--   calls    50 levels of recursion, and functions that functions in C call: pcall, table.sort, string.gsub, metamethods,
--            iterators; coroutines, that yield below pcall too; string.find, a function in C
--   short    a comparison of table.sort that is so short that many samples are between its calls
--
-- until FILE.end exists. Then it writes to FILE.times the CPU time of each part of calls() since FILE.begin exists.
local path = ...
local times = {}

-- All time is used here.
local function spin(rounds)
	local x, i = rounds, 0
	while i < rounds * 20 do
		x = (x * 31 + i) % 65536
		i = i + 1
	end
	return x
end

local function exists(name)
	local file = io.open(name)
	if file then
		file:close()
	end
	return file ~= nil
end

local function measured(name, code)
	local start = os.clock()
	code()
	times[name] = (times[name] or 0) + os.clock() - start
end

-- Calls are no tail calls, so that the caller has a frame.
function sixty()
	local result = spin(600)
	return result
end

function thirty()
	local rounds = 300
	local result = spin(rounds)
	return result
end

function ten()
	spin(100)
end

local function shares()
	for _ = 1, 4 do
		sixty()
		thirty()
		ten()
	end
end

local shop = {}

function shop.descend(levels)
	if levels <= 1 then
		spin(600)
		return 0
	end
	local result = shop.descend(levels - 1)
	return result + 1
end

function shop:price()
	spin(600)
	return self
end

local function recurses() shop.descend(50) return true end

local function methods() shop:price() return true end

local function fails()
	spin(600)
	error("an error")
end

local function protects()
	local ok = pcall(fails)
	assert(not ok)
	return true
end

local function sorts()
	table.sort({ 5, 3, 1, 4, 2 }, function(a, b)
		spin(60)
		return a < b
	end)
	return true
end

local function replaces()
	string.gsub("aaaa", "a", function(character)
		spin(150)
		return character
	end)
	return true
end

local value = setmetatable({}, { __index = function(_, key)
	spin(600)
	return key
end })

local function indexes()
	local result = value.key
	return result
end

local function next_item(_, i)
	spin(300)
	if i < 2 then
		return i + 1
	end
end

local function iterates()
	for i in next_item, nil, 0 do
		value[i] = i
	end
	return true
end

local function produces()
	spin(300)
	coroutine.yield(1)
	spin(300)
	return 2
end

local function resumes()
	local produce = coroutine.wrap(produces)
	produce()
	produce()
	return true
end

-- Since 5.2 a coroutine can yield below pcall. After that, pcall has no native frame.
local function inside()
	if _VERSION ~= "Lua 5.1" then
		coroutine.yield(1)
	end
	spin(600)
	return true
end

local function protected_producer()
	local ok = pcall(inside)
	return ok
end

local function yields_in_pcall()
	local produce = coroutine.wrap(protected_producer)
	produce()
	if _VERSION ~= "Lua 5.1" then
		produce()
	end
	return true
end

local function nested()
	local outer = coroutine.wrap(function()
		local inner = coroutine.wrap(function()
			spin(600)
			return true
		end)
		inner()
		return true
	end)
	outer()
	return true
end

local text = string.rep("abcdefgh", 4000)

local function in_c()
	for _ = 1, 2 do
		string.find(text, "h+x")
	end
	return true
end

local parts = {
	recurses = recurses, methods = methods, protects = protects, sorts = sorts, replaces = replaces, indexes = indexes,
	iterates = iterates, resumes = resumes, yields_in_pcall = yields_in_pcall, nested = nested, in_c = in_c,
}

local function calls()
	for name, part in pairs(parts) do
		measured(name, part)
	end
end

local function short()
	local items = {}
	for i = 1, 1000 do
		items[i] = i * 7919 % 2003
	end
	table.sort(items, function(a, b) return a < b end)
end

local has_begun = false
repeat
	if not has_begun and exists(path .. ".begin") then
		has_begun = true
		times = {}
	end
	shares()
	calls()
	short()
until exists(path .. ".end")
local file = assert(io.open(path .. ".times", "w"))
for name, time in pairs(times) do
	file:write(name, " ", time * 1000, "\n")
end
file:close()
