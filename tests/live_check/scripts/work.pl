# SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;

# Work for a Perl interpreter: regular expressions, hashes, sort with a block, recursion.
sub ackermann {
	no warnings 'recursion';
	my ($m, $n) = @_;
	return $n + 1 if $m == 0;
	return ackermann($m - 1, 1) if $n == 0;
	return ackermann($m - 1, ackermann($m, $n - 1));
}

open my $in, '<', $ARGV[0] or die $!;
my (%seen, $lines);
while (my $line = <$in>) {
	$seen{$1}++ while $line =~ /([A-Za-z_]{3,})/g;
	$line =~ s/(\d+)/$1 + 1/ge;
	if (++$lines % 50000 == 0) {
		my @order = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
		print "@order[0 .. 3] ", ackermann(2, 100), "\n";
	}
}
