/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Expression templates, for tests/symbol_check: chains of tens of inlined functions. Never run.
 */

#include <vector>

#include <Eigen/Dense>

double solve(std::vector<double> values)
{
	const auto n = static_cast<Eigen::Index>(values.size());
	Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
	Eigen::VectorXd b = Eigen::Map<Eigen::VectorXd>(values.data(), n);

	for (Eigen::Index i = 0; i < n; i++)
		a.row(i) = b.transpose() * static_cast<double>(i + 1);
	a.diagonal().array() += 1.0;
	Eigen::JacobiSVD<Eigen::MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
	return (svd.solve(b) - a.colPivHouseholderQr().solve(b)).norm() + a.partialPivLu().determinant();
}
