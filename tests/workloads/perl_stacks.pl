# SPDX-License-Identifier: Apache-2.0
#
# Perl with known stacks. Arguments: what runs, and a file; the program ends when the file exists.
#
#   shares    sixty, thirty and ten use these shares of the time
#   calls     50 levels of recursion, and subs, methods and blocks that functions in C call
#   short     subs and blocks that are called from C so often that many samples are between them
#   threads   two threads
#
# Before it begins, a program writes to FILE.labels the labels of all subs that caller() finds below spin(), leaf first, a
# stack a line; at its end to FILE.times what it has measured: milliseconds of CPU time of each part.
use strict;
use warnings;
use List::Util;

my ($program, $end_file) = @ARGV;
my (%times, %stacks);
my $notes_stacks = 1;

# The labels of all callers. A frame executes the line from which the next inner one was called. caller() lists eval blocks,
# which are code of the sub around them.
sub note_stack {
	my (@labels, @at);
	for (my $i = 0; my ($file, $line, $name, $text, $is_file) = (caller $i)[1 .. 3, 6, 7]; $i++) {
		my $is_block = $name eq '(eval)' && !defined $text && !$is_file;
		$name = $is_file ? '{main}' : '{eval}' if $name eq '(eval)';
		push @labels, "$name (@at)" if @at && !$is_block;
		@at = ($file =~ s{.*/}{}r =~ s/^\(eval \d+/(eval/r) . ":$line" if !@at || !$is_block;
	}
	$stacks{join '<', @labels, "{main} (@at)"}++;
}

# All time is used here.
sub spin {
	my ($rounds) = @_;
	my ($x, $i) = ($rounds, 0);
	note_stack() if $notes_stacks;
	while ($i < $rounds * 20) {
		$x = ($x * 31 + $i) & 0xffff;
		$i++;
	}
	return $x;
}

sub ended { return -e $end_file }

# CPU time of the thread: clock_gettime(CLOCK_THREAD_CPUTIME_ID).
sub cpu_ms {
	my $time = "\0" x 16;
	syscall(228, 3, $time);
	my ($s, $ns) = unpack 'qq', $time;
	return $s * 1000 + $ns / 1e6;
}

sub measured {
	my ($name, $code) = @_;
	my $start = cpu_ms();
	my $result = $code->();
	$times{$name} += cpu_ms() - $start;
	return $result;
}

sub sixty { return spin(600) }

sub thirty {
	my $rounds = 300;
	return spin($rounds);
}

sub ten { spin(100) }

sub shares {
	measured('sixty', \&sixty);
	measured('thirty', \&thirty);
	measured('ten', \&ten);
}

sub descend {
	my ($levels) = @_;
	return spin(400) if $levels <= 1;
	return descend($levels - 1) + 1;
}

package Shop {
	sub new { return bless {price => 7}, shift }

	sub price {
		my $self = shift;
		return main::spin(200) + $self->{price};
	}

	sub total {
		my $self = shift;
		return $self->price + $self->price;
	}
}

package Tied {
	sub TIESCALAR { return bless {}, shift }
	sub FETCH { return main::spin(400) }
}

package Number {
	use overload '+' => \&plus;
	sub plus { return main::spin(400) }
}

package Temporary {
	sub DESTROY { main::spin(400) }
}

sub closure {
	my $rounds = 400;
	my $code = sub { return spin($rounds) };
	return $code->();
}

sub compare { return spin(400) ? $_[0] <=> $_[1] : 0 }

# Two numbers are compared once. The call is the last instruction of the block.
sub sorts_by_block {
	my @sorted = sort { compare($a, $b) } 2, 1;
	return @sorted;
}

sub by_number { return spin(400) ? $a <=> $b : 0 }

sub sorts_by_sub {
	my @sorted = sort by_number 2, 1;
	return @sorted;
}

sub throws {
	spin(200);
	die "expected\n";
}

sub catches {
	eval { throws(); 1 } or spin(200);
}

# An eval in a call from C: Perl calls the loop once more for it.
sub by_eval {
	my $sum = eval { throws(); 1 };
	return inner($sum);
}

sub inner { return spin(200) ? $a <=> $b : 0 }

sub sorts_with_eval {
	my @sorted = sort by_eval 2, 1;
	return @sorted;
}

sub evaluates { return eval 'my $rounds = 400; spin($rounds)' }

sub fetches {
	tie my $value, 'Tied';
	return $value;
}

sub adds { return bless({}, 'Number') + 1 }

sub destroys {
	my $temporary = bless {}, 'Temporary';
	undef $temporary;
	return;
}

sub checks { return spin(200) == $_[0] }

sub first_of_list {
	return List::Util::first { my $is = checks($_); $is } 1e6, 2e6;
}

sub matches {
	return 'a' =~ /a(?{ spin(400) })/;
}

# A function in C that takes long.
my @letters = map { ($_ * 7919) % 3001 . '' } 1 .. 3000;

sub native {
	my @sorted;
	@sorted = sort @letters for 1, 2;
	return @sorted;
}

my @parts = qw(closure sorts_by_block sorts_by_sub catches sorts_with_eval evaluates fetches adds destroys first_of_list
	matches native);

sub calls {
	my $shop = Shop->new;
	measured('descend', sub { descend(50) });
	measured('total', sub { $shop->total });
	measured($_, \&{\&{$_}}) for @parts;
}

sub by_length { return length $a <=> length $b || $a cmp $b }

sub short {
	my @numbers = map { $_ * 7919 % 3001 } 1 .. 1000;
	my @by_block = sort { $a % 3 <=> $b % 3 || $a <=> $b } @numbers;
	my @by_sub = sort by_length @numbers;
	my $found = List::Util::first { $_ > 5000 } @numbers;
	my $sum = List::Util::reduce { $a + $b } @numbers;
	return scalar @by_block + @by_sub + $sum;
}

sub first_thread { return spin(100) }
sub second_thread { return spin(100) }

sub run_threads {
	require threads;
	my @threads = map { my $code = $_; threads->create(sub { $code->() until ended(); 1 }) } \&first_thread, \&second_thread;
	$_->join for @threads;
}

my %programs = (shares => \&shares, calls => \&calls, short => \&short, threads => \&run_threads);
my $run = $programs{$program};
$notes_stacks = 0 if $program eq 'threads';
until (ended()) {
	$run->();
	next if !$notes_stacks;
	$notes_stacks = 0;
	%times = ();
	write_file('labels', map { "$_\n" } sort keys %stacks);
}

sub write_file {
	my ($name, @lines) = @_;
	open my $file, '>', "$end_file.$name" or die "$end_file.$name: $!";
	print $file @lines;
	close $file or die "$end_file.$name: $!";
}

write_file('times', map { sprintf "%s %d\n", $_, $times{$_} } sort keys %times);
